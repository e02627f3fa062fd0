/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The model, its datatype and its GPU, of training and of serving, as asked for. A row of the
 * option table is bound to each member (Option::As) and describes it. Without a default in every
 * program a member is optional: nothing is "not given", until a rule decides.
 */
#ifndef SCENARIOS_ASKED_MODEL_H
#define SCENARIOS_ASKED_MODEL_H

#include <optional>
#include <string>

namespace scenario::asked
{

struct Model
{
    std::string model;
    std::string dtype;
    std::optional<std::string> gpu;
    double moeSkew = 0;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_MODEL_H
