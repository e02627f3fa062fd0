/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How messages go over the links between the GPUs of a server, as asked for. A row of the option
 * table is bound to each member (Option::As) and describes it.
 */
#ifndef SCENARIOS_ASKED_SCALE_UP_H
#define SCENARIOS_ASKED_SCALE_UP_H

#include "contrib/rdma/core/units.h"

#include <optional>
#include <string>

namespace scenario::asked
{

struct ScaleUp
{
    std::string as;
    std::optional<rdma::Bytes> frame;
    std::optional<rdma::Bytes> buffer;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_SCALE_UP_H
