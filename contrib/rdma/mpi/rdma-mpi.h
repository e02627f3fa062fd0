/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Several processes with ns-3's own engine. It needs ns-3's module mpi, so it is no part of the
 * module's library: who wants it compiles rdma-mpi.cc into a program that links mpi.
 */
#ifndef RDMA_MPI_H
#define RDMA_MPI_H

#include "ns3/rdma-fabric.h"

#include <string>

namespace ns3
{

/**
 * Let the fabric's gateways talk by ns-3's MpiInterface, which must be enabled, with as many ranks
 * as the partition has. Before Simulator::Run; DistributedSimulatorImpl finds the look-ahead by
 * itself. \return what is wrong, or nothing
 */
std::string ConnectRanksByMpi(RdmaFabric& fabric);

} // namespace ns3

#endif /* RDMA_MPI_H */
