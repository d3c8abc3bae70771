"""What a training tells of itself: speed, profile, operations; none of it changes a weight."""
