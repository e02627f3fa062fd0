/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Chakra execution traces as JSON, of two kinds. Objects one after another, as protobuf prints
 * messages (numbers of 64 bits are texts, types have names):
 *
 *     {"version": "0.0.4"}
 *     {"id": "3", "type": "COMM_COLL_NODE", "dataDeps": ["2"],
 *      "attr": [{"name": "comm_size", "int64Val": "1048576"}]}
 *
 * or one object, whose nodes are flat:
 *
 *     {"workload_graph": [{"Id": 3, "Name": "ar", "NodeType": 7, "ctrlDeps": [], "data_deps": [2],
 *                          "runtime": 0, "is_cpu_op": false, "comm_type": 0,
 *                          "comm_size": 1048576}]}
 *
 * In both, keys may be spelled with '_' or capital letters, numbers may be texts, types names.
 */
#ifndef SCENARIOS_FORMATS_CHAKRA_CHAKRA_JSON_H
#define SCENARIOS_FORMATS_CHAKRA_CHAKRA_JSON_H

#include "scenarios/formats/chakra/chakra-node.h"
#include "topologies/error.h"

#include <ostream>
#include <string>
#include <vector>

namespace formats
{

/// False, and an error with its byte or JSON path, if it is neither. \param file for errors
bool ReadChakraJson(const std::string& text,
                    const std::string& file,
                    std::vector<ChakraNode>* nodes,
                    std::vector<topo::Error>& errors);

/// Writes the first kind of JSON.
void WriteChakraJson(const std::vector<ChakraNode>& nodes, std::ostream& os);

} // namespace formats

#endif // SCENARIOS_FORMATS_CHAKRA_CHAKRA_JSON_H
