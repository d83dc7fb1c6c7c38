"""The adaptive Euler program of Lucier, 1988: a solver of our own, and the program as pools of
tasks on its trees.

`solver` follows Sod's shock tube on a tree of intervals, and gives the tree of every time step;
`model` builds the passes over these trees, whose parts a monitor hands out.
"""
