/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_PARTS_OF_RUN_H
#define DLTRAIN_PARTS_OF_RUN_H

#include "scenarios/job/scenario.h"

#include <string>

namespace dltrain
{

/**
 * Loads TCP and UDP if flows use them, or if the user sets or asks for an attribute of one of their
 * classes. Before NS_LOG is checked and attributes are set. A dry run builds nothing: it goes on
 * without a part that is not built. \return the problem, or nothing
 */
std::string LoadPartsOf(const scenario::RunOptions& run);

/// \param type name of a class of ns-3 \return whether its part is not loaded, as of a dry run
bool IsInMissingPart(const std::string& type);

/// \return whether it is the name of a simulator of ns-3's module mpi, loaded or not
bool IsSimulatorOfMpi(const std::string& type);

} // namespace dltrain

#endif /* DLTRAIN_PARTS_OF_RUN_H */
