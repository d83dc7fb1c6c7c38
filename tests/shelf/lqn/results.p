# lqns 5.28
# lqns -p desk.lqn
V y
C 1e-06
I 4
PP 2
NP 1

B 1
user : begin 0.5
-1
