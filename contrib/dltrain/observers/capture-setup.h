/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_CAPTURE_SETUP_H
#define DLTRAIN_CAPTURE_SETUP_H

#include "scenarios/run/scenario.h"

#include "ns3/rdma-fabric-helper.h"

#include <string>

namespace dltrain
{

class RankNotes;

/// Before a file is opened. \return what is wrong with --pcap in this fabric, empty if nothing is
std::string CheckCaptures(const ns3::RdmaFabric& fabric, const scenario::RunOptions& run);

/// Starts the captures that --pcap and its companions ask for. \param notes by which several Ranks
/// tell the first one, which writes the files; null: there is one \return what is wrong, empty if
/// nothing is
std::string StartCaptures(ns3::RdmaFabric& fabric,
                          const scenario::RunOptions& run,
                          RankNotes* notes);

/// Completes the files; what could not be written, OutputErrors know.
void FinishCaptures();

} // namespace dltrain

#endif // DLTRAIN_CAPTURE_SETUP_H
