/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is wrong with something a user wrote: an option, an attribute of ns-3, a file.
 */
#ifndef RDMA_CORE_INPUT_ERROR_H
#define RDMA_CORE_INPUT_ERROR_H

#include "shown-text.h"

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace rdma
{

struct InputError
{
    std::string where; ///< an option ("--mtu", "k"), an attribute ("TLow"), a JSON path
                       ///< ("/links/3/rate"), a line
                       ///< ("fat.txt:12")
    std::string value; ///< as written, printable; empty if there is none, or if the problem has it
    std::string
        problem; ///< reads on after these: "is not a model; allowed: ..."; empty: nothing is wrong
    std::string nearest = {}; ///< a valid name or value close to it; empty if none is
    std::string file = {};    ///< that a JSON path is in; else empty
    std::string with = {};    ///< another option that has its part in the mistake, if it was given

    explicit operator bool() const
    {
        return !problem.empty();
    }

    /// Error of an option, one line: `--mtu=100: allowed: 256, 512; did you mean '256'?`
    std::string Text() const
    {
        constexpr std::size_t shown = 300; // of what a user gave: as long as paths are
        constexpr std::size_t most =
            5000; // of what is wrong with it: the longest list of names is shorter
        std::string text = Shown(where, shown);
        if (!value.empty())
        {
            text += (text.empty() ? "" : "=") + Shown(value, shown);
        }
        text += (text.empty() ? "" : ": ") + Shown(problem, most);
        return text + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
    }

    /// In a file: `net.json: /links/3/rate: "100Gbs" is not a rate such as 100Gbps`, one line.
    std::string Sentence() const
    {
        return (file.empty() ? "" : file + ": ") + (where.empty() ? "" : where + ": ") +
               (value.empty() ? "" : value + " ") + problem;
    }
};

/// One without a value of its own: ErrorAt("TLow", "1s is above THigh, 500us").
inline InputError
ErrorAt(std::string where, std::string problem)
{
    return {std::move(where), "", std::move(problem), "", "", ""};
}

/**
 * What a congestion control law says of constants that it has no meaning for: laws have a pure
 * function Error(parameters) whose `where` is the ns-3 attribute's name, so that a scenario can be
 * refused before anything is built; their constructors throw the same. \param law "TIMELY"
 */
inline void
ThrowIf(const InputError& error, const char* law)
{
    if (error)
    {
        throw std::invalid_argument(std::string(law) + ": " + error.where + ": " + error.problem);
    }
}

} // namespace rdma

#endif // RDMA_CORE_INPUT_ERROR_H
