"""The HTTP service: translators behind the dialects that clients already speak. No torch."""
