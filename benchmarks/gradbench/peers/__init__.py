"""The problems in other libraries, for comparison."""
