/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Models that iGniter measured on a V100 under MPS, with TensorRT.
 */
#ifndef SCENARIOS_MULTIPLEX_IGNITER_V100_H
#define SCENARIOS_MULTIPLEX_IGNITER_V100_H

#include "scenarios/multiplex/interference.h"
#include "scenarios/multiplex/share-curve.h"

#include <string>
#include <vector>

namespace multiplex
{

struct ProfiledModel
{
    std::string name;
    FormConstants form;
    uint32_t largestBatch = 0;
    Profile profile;
};

/// alexnet, resnet50, vgg19, ssd.
const std::vector<ProfiledModel>& IgniterModels();

/// By name, as topo::SameName compares; null: none is called so.
const ProfiledModel* FindIgniterModel(const std::string& name);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_IGNITER_V100_H
