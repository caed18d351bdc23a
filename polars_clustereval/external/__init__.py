"""external: labels against clusters."""
