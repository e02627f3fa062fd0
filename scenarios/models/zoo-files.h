/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The JSON of scenarios/zoo, kept in the programs so that it is found from any folder. CMake writes
 * the source (scenarios/CMakeLists.txt).
 */
#ifndef SCENARIOS_MODELS_ZOO_FILES_H
#define SCENARIOS_MODELS_ZOO_FILES_H

#include <map>
#include <string>

namespace training
{

/// The text of each file by its path below scenarios/zoo: "gpus.json", "models/llama.json".
const std::map<std::string, const char*>& ZooFiles();

} // namespace training

#endif // SCENARIOS_MODELS_ZOO_FILES_H
