/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_CAPTURE_SETUP_H
#define DLTRAIN_CAPTURE_SETUP_H

#include "scenarios/job/scenario.h"

#include "ns3/rdma-fabric-helper.h"

#include <string>

namespace dltrain
{

class RankNotes;

/// Checks --pcap for this fabric, before a file is opened. \return the problem, or empty
std::string CheckCaptures(const ns3::RdmaFabric& fabric, const scenario::RunOptions& run);

/// Starts the captures of --pcap and its companions.
/// \param notes notes by which several Ranks tell the first one, which writes the files; null: a
/// single process
/// \return the problem, or empty
std::string StartCaptures(ns3::RdmaFabric& fabric,
                          const scenario::RunOptions& run,
                          RankNotes* notes);

/// Completes the files; what could not be written, OutputErrors know.
void FinishCaptures();

} // namespace dltrain

#endif // DLTRAIN_CAPTURE_SETUP_H
