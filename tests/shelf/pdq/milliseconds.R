library(pdq)
between <- 4000
Init("services")
CreateNode("front", CEN, FCFS)
CreateOpen("req", 1 / between)
SetTUnit("ms")
SetDemand("front", "req", 1000)
Solve(CANON)
