"""The rules of the sum of cubes, a file for each backend."""
