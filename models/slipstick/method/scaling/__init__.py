"""MODEL -> HOW IT SCALES: how much more work more processors need, and which overhead limits it.

Two roads to one number. `isoefficiency` takes the closed form apart, with SymPy: `overhead` gives the total overhead
T_o = N T - W t_c of a model, `terms` reads it as powers and logarithms, each with the work that it alone asks for and how
that grows. `ways` takes any compiled `Form`, whatever its method, and solves for the size at each number of processors:
`roots` finds where one value reaches another, many points at a time.

Why this shape: algebra can say why and how far, but only of closed forms; root finding can say how much, of everything.
Where both can speak the tests hold them against each other.
"""
