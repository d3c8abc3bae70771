"""Search: greedy and beam as pure tensor steps."""
