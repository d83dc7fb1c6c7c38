#include "PDQ_Lib.h"
/* two classes of different demands at one queue */
int main(void) {
  double fast = 0.1, slow = 0.3;
  PDQ_Init("classes");
  PDQ_CreateOpen("short", 1.0);
  PDQ_CreateOpen("long", 2.0);
  PDQ_CreateNode("cpu", CEN, FCFS);
  PDQ_SetDemand("cpu", "short", fast);
  PDQ_SetDemand("cpu", "long", slow);
  PDQ_Solve(CANON);
  PDQ_Report();
  return 0;
}
