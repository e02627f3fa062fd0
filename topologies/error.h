/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is wrong with something a user wrote, and how a value of a file is shown in it.
 */
#ifndef TOPOLOGIES_ERROR_H
#define TOPOLOGIES_ERROR_H

#include "contrib/rdma/core/input-error.h"

#include <string>

namespace topo
{

using Error = rdma::InputError;

/// `"text"`, shortened, with what a terminal would act on as \xNN: what a file holds is shown, but
/// never sent to the terminal as it is.
inline std::string
Quoted(const std::string& text)
{
    return '"' + rdma::Shown(text, 100) + '"';
}

} // namespace topo

#endif // TOPOLOGIES_ERROR_H
