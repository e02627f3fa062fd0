/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "quiet-run.h"

namespace dltrain
{

std::ostream&
NoOutput()
{
    static std::ostream none(nullptr);
    return none;
}

scenario::RunOptions
WithoutOutputs(const scenario::RunOptions& run)
{
    scenario::RunOptions quiet = run;
    quiet.out.clear();
    quiet.made.clear();
    quiet.report = false;
    quiet.timeline = false;
    quiet.pcap.clear();
    quiet.traceQueuePairs.clear();
    quiet.tracePaths.clear();
    quiet.watch = {};
    return quiet;
}

} // namespace dltrain
