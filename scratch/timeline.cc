/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * timeline.json of a run that has ended. scripts/timeline calls this; it knows the options.
 *
 *     ./ns3 run "timeline results/dltrain-1 results/dltrain-1/timeline.json 1000000"
 */
#include "contrib/dltrain/base/early-environment.h"
#include "contrib/dltrain/programs/frame.h"
#include "reports/timeline/timeline-writer.h"

#include <charconv>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>

namespace
{

int
Timeline(int argc, char* argv[])
{
    constexpr const char* USAGE =
        "usage: timeline DIR FILE EVENTS    (use scripts/timeline, which calls this)\n";
    if (argc == 2 && (!std::strcmp(argv[1], "--help") || !std::strcmp(argv[1], "--version")))
    {
        std::cout << USAGE;
        return 0;
    }
    uint64_t events = 0;
    if (argc == 4)
    {
        const char* const end = argv[3] + std::strlen(argv[3]);
        const auto [at, error] = std::from_chars(argv[3], end, events);
        events = error == std::errc() && at == end ? events : 0;
    }
    if (!events || !*argv[1] || !*argv[2])
    {
        std::cerr << USAGE;
        return 2;
    }
    try
    {
        // What is in the file and what is left out, as JSON.
        std::cout << reports::WriteTimeline(argv[1], argv[2], events).dump() << "\n";
    }
    catch (const std::invalid_argument& reason) // results of another version
    {
        std::cerr << "timeline: error: " << reason.what() << std::endl;
        return 2;
    }
    return 0;
}

} // namespace

int
main(int argc, char* argv[])
{
    return dltrain::RunProgram("timeline", [&] { return Timeline(argc, argv); });
}
