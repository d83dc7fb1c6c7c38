library(pdq)
clients <- 20; think <- 10 * 10^-3
stime <- c(5, 3, 2.5) * 1e-3
work <- "http"
Init("LAMP")
CreateClosed(work, TERM, as.double(clients), think)
for (i in seq_along(stime)) {
  nm <- paste("tier", i, sep="_")
  CreateNode(nm, CEN, FCFS)
  SetDemand(nm, work, stime[i])
}
SetWUnit("Reqs")
Solve(APPROX)
Report()
