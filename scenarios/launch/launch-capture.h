/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Captures the script of --launch: starts the Python package's capture and attends to it.
 */
#ifndef SCENARIOS_LAUNCH_LAUNCH_CAPTURE_H
#define SCENARIOS_LAUNCH_LAUNCH_CAPTURE_H

#include "scenarios/job/launch-spec.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace scenario
{

/// The default of LaunchSpec::steps: the capture goes on until two steps are alike.
constexpr uint32_t kUntilAlike = std::numeric_limits<uint32_t>::max();

/// The end of a capture; all members empty: the capture exists.
struct CaptureEnd
{
    std::string error; ///< why nothing was captured
    /// Why nothing was captured because a disk is full or the like: its folder and the reason.
    std::string full;
    std::string failed; ///< the script failed: its traceback; the capture up to then exists
    int status = 0;     ///< exit status of the script that failed
    int signal = 0;     ///< signal that came to this process, and ended the capture
};

/**
 * Captures into a folder. Meanwhile rdma::SetUpPhase says how far it is, and SIGINT, SIGTERM and
 * SIGHUP (those that are not ignored) end the capture with all that the script has started. Whoever
 * kills this process ends it too, and `made`, the folders that were made for it, go with it.
 *
 * What a capture has to say beside goes to standard error behind "PROGRAM: ".
 */
CaptureEnd CaptureScript(const std::string& program,
                         const LaunchSpec& launch,
                         const std::string& folder,
                         const std::vector<std::string>& made);

} // namespace scenario

#endif // SCENARIOS_LAUNCH_LAUNCH_CAPTURE_H
