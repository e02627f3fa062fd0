/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hosts of a run of several processes (--mpi-hosts): their names, the ranks of each, and how MPI
 * starts processes there.
 */
#ifndef SCENARIOS_LAUNCH_MPI_HOSTS_H
#define SCENARIOS_LAUNCH_MPI_HOSTS_H

#include "scenarios/job/mpi-host.h"

#include <cstdint>
#include <string>
#include <vector>

namespace scenario
{

/// Reads "node1" or "node1:4" (4 ranks) each. \return the problem with one of them, or nothing
std::string ReadHosts(const std::vector<std::string>& texts, std::vector<MpiHost>* hosts);

/// \return the ranks that hosts name, or one for each that names none
uint32_t RanksOf(const std::vector<MpiHost>& hosts);

/// Gives ranks to hosts that name none: equal shares, the first ones get what is over. \return the
/// problem, or nothing: hosts name other numbers, or some of them none; hosts without a rank
std::string SpreadRanks(uint32_t ranks, std::vector<MpiHost>* hosts);

/// "node1:4,node2:4", as mpirun --host takes it
std::string HostList(const std::vector<MpiHost>& hosts);

/// "node1 (4) and node2 (4)"
std::string HostText(const std::vector<MpiHost>& hosts);

/// The ranks of a host: "rank 3", "ranks 4 to 7". \return empty: there is no such host
std::string RanksText(const std::vector<MpiHost>& hosts, const std::string& name);

/// Number of nodes and id of the allocation of Slurm that this process is in; 0 nodes: it is in
/// none, or in one of a single node, or is one of several tasks.
struct Allocation
{
    uint32_t nodes = 0;
    std::string job;
};

Allocation FindAllocation();

/// Names of its nodes, by scontrol. \return the problem, or nothing
std::string NodesOf(const Allocation& allocation, std::vector<MpiHost>* nodes);

/// Whether a name is one of this machine, by its addresses.
bool IsThisMachine(const std::string& host);

/// The words that run a shell's script on a host: by Open MPI's own agent (OMPI_MCA_plm_rsh_agent,
/// else ssh), or in an allocation by srun.
std::vector<std::string> ScriptOnHost(const std::string& host,
                                      bool allocated,
                                      const std::string& script);

/// In quotes for a shell.
std::string QuotedForShell(const std::string& word);

/// For the processes that are started: where all of them are, as HostList.
constexpr const char* HOSTS_OF_RUN = "DLTRAIN_MPI_HOSTS";

} // namespace scenario

#endif // SCENARIOS_LAUNCH_MPI_HOSTS_H
