"""Conversion of other files to recordings: rollouts, GIFs, input movies, failure receipts."""
