"""The headless trainer. Importing this package costs nothing; see ARCHITECTURE.md."""
