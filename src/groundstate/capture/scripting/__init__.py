"""Scripts that take the place of API functions; see docs/howto/scripting.md."""
