library(pdq)
clients <- 20
for (i in 1:clients) {
  Init("load")
  CreateClosed("w", TERM, as.double(i), 1.0)
  CreateNode("cpu", CEN, FCFS)
  SetDemand("cpu", "w", 0.5)
  Solve(EXACT)
}
