library(pdq)
disks <- 4
Init("disks")
CreateClosed("query", TERM, 5, 1.0)
for (k in seq(disks)) {
  name <- sprintf("disk%d", k)
  CreateNode(name, CEN, FCFS)
  SetVisits(name, "query", 1 / disks, 0.5)
}
Solve(EXACT)
Report()
