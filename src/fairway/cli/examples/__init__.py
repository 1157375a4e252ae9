"""The examples that travel with the package: listed, copied, and one of them run as a demonstration."""
