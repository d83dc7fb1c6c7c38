"""QUESTIONS OF A STUDY about measured runs, traces and fits; one module for each key."""
