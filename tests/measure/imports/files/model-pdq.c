#include "PDQ_Lib.h"

/* A database server: terminals, a processor with two cores, a disk, a network. */
int main(void) {
    PDQ_Init("database");
    PDQ_CreateClosed("users", TERM, 20.0, 5.0);
    PDQ_CreateOpen("batch", 0.5);
    PDQ_CreateMultiNode(2, "cpu", CEN, FCFS);
    PDQ_CreateNode("disk 1", CEN, FCFS);
    PDQ_CreateNode("network", DLY, ISRV);
    PDQ_SetDemand("cpu", "users", 0.02);
    PDQ_SetDemand("cpu", "batch", 0.3);
    PDQ_SetVisits("disk 1", "users", 3.0, 0.01);
    PDQ_SetVisits("disk 1", "batch", 10.0, 0.01);
    PDQ_SetDemand("network", "users", 0.05);
    PDQ_SetWUnit("Trans");
    PDQ_Solve(CANON);
    PDQ_Report();
}
