/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_RUN_OWN_DEFAULTS_H
#define DLTRAIN_RUN_OWN_DEFAULTS_H

#include "ns3/type-id.h"

#include <string>

namespace dltrain
{

/// What --PrintAttributes says before ns-3's list, which has the defaults as options have set them:
/// a line for each attribute of the class whose own default is another one.
std::string OwnDefaultsText(ns3::TypeId type);

} // namespace dltrain

#endif // DLTRAIN_RUN_OWN_DEFAULTS_H
