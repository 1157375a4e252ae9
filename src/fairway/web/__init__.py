"""The pages' server: recorded runs as answers to a browser's questions, and as tiles of heat maps."""
