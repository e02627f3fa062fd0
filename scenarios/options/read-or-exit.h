/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A command line of a program whose scenario is no run of the engine: dlplan, dlgoodput.
 */
#ifndef SCENARIOS_OPTIONS_READ_OR_EXIT_H
#define SCENARIOS_OPTIONS_READ_OR_EXIT_H

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/options/options.h"

#include <cstdlib>
#include <iostream>
#include <utility>

namespace scenario
{

/// The scenario of a command line. Prints notes; a text that was asked for ends the program with
/// 0, errors end it with 2.
/// \param validate makes of a ReadResult something with `scenario` and `errors`
template <class Validate>
auto
ReadOrExit(const OptionTable& table, int argc, const char* const* argv, const Validate& validate)
{
    const ReadResult read = ReadOptions(table, argc, argv);
    if (read.text)
    {
        std::cout << *read.text << std::flush;
        std::exit(0);
    }
    auto result = validate(read);
    for (const Error& error : result.errors)
    {
        std::cerr << table.program << ": error: " << error.Text() << std::endl;
    }
    if (!result.errors.empty())
    {
        std::exit(2);
    }
    for (const std::string& note : read.notes)
    {
        std::cerr << table.program << ": " << rdma::Printable(note) << std::endl;
    }
    return std::move(result.scenario);
}

} // namespace scenario

#endif // SCENARIOS_OPTIONS_READ_OR_EXIT_H
