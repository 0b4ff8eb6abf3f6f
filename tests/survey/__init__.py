"""Surveys: modules found in files, compiled, and reported."""
