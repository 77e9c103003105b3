"""A YAML file becomes frozen values. Starts nothing, imports no client and no engine."""
