"""One file, one workload; the file's name is the YAML word, its class the same word in CamelCase."""
