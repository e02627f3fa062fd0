/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is wrong with something a user wrote: where, the bad value, and what is allowed.
 */
#ifndef TOPOLOGIES_ERROR_H
#define TOPOLOGIES_ERROR_H

#include "contrib/rdma/core/shown-text.h"

#include <string>

namespace topo
{

struct Error
{
    std::string field; ///< an option ("k"), a JSON path ("/links/3/rate") or a line ("fat.txt:12")
    std::string value; ///< as written, printable, quoted if a text; empty if the mistake is that it
                       ///< is missing
    std::string message;   ///< reads on after the value: "is not a rate such as 100Gbps"; a whole
                           ///< sentence if there is no value
    std::string file;      ///< for a JSON path: the file it is in; else empty
    std::string with = {}; ///< another option that has its part in the mistake, if it was given
};

/// `net.json: /links/3/rate: "100Gbs" is not a rate such as 100Gbps, 25Gb/s or 400G`: one line.
inline std::string
ToString(const Error& e)
{
    return (e.file.empty() ? "" : e.file + ": ") + (e.field.empty() ? "" : e.field + ": ") +
           (e.value.empty() ? "" : e.value + " ") + e.message;
}

/// `"text"`, shortened, with what a terminal would act on as \xNN: what a file holds is shown, but
/// never sent to the terminal as it is.
inline std::string
Quoted(const std::string& text)
{
    return '"' + rdma::Shown(text, 100) + '"';
}

} // namespace topo

#endif // TOPOLOGIES_ERROR_H
