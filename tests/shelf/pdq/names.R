library(pdq)
# an office: names and numbers by name, in minutes
clerk  <- "clerk"
people <- "people"
rate   <- 9 / 60
Init("office")
CreateOpen(people, rate)
CreateNode(clerk, CEN, FCFS)
SetDemand(clerk, people, 5)
SetTUnit("Min")
Solve(STREAMING)
Report()
