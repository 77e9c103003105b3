"""The story of a run that is not green: what happened to the message that went wrong, whose doing it was, what next."""
