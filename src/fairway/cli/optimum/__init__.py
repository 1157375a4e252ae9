"""`--optimum` of `try` and `compare`: a policy beside the best possible placement."""
