"""WHAT IS RUN: plans as flat data, how they are written, and where their random numbers come from."""
