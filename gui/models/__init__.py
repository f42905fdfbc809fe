"""State of the app without a widget in sight."""
