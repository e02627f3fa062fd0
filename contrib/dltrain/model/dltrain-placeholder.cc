// Stands in until the module has its first source, so that the set-up can be tested.
#include "contrib/rdma/core/units.h"

#include "ns3/log.h"

NS_LOG_COMPONENT_DEFINE("DltrainPlaceholder");
