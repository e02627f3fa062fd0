/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Chakra execution traces as protobuf, one file a rank: messages with their length ahead as a
 * varint, first GlobalMetadata, then a Node each. The whole may be packed by gzip (input-file.h).
 *
 * The encoding is the protobuf library's, which is an optional part of the build: without it
 * WhyNoChakraWire says what to install, and all else works.
 */
#ifndef SCENARIOS_FORMATS_CHAKRA_CHAKRA_WIRE_H
#define SCENARIOS_FORMATS_CHAKRA_CHAKRA_WIRE_H

#include "scenarios/formats/chakra/chakra-node.h"
#include "topologies/error.h"

#include <ostream>
#include <string>
#include <vector>

namespace formats
{

/// Why neither of the others can be called, with the command that mends it; empty: they can.
std::string WhyNoChakraWire();

/// False, and an error with its byte, if it is no such file. \param file for errors
bool ReadChakraWire(const std::string& bytes,
                    const std::string& file,
                    std::vector<ChakraNode>* nodes,
                    std::vector<topo::Error>& errors);

/// Dependencies become data_deps. Whole numbers are int64_val but for those in use: is_cpu_op is a
/// bool_val, comm_src, comm_dst and comm_tag are int32_val.
void WriteChakraWire(const std::vector<ChakraNode>& nodes, std::ostream& os);

} // namespace formats

#endif // SCENARIOS_FORMATS_CHAKRA_CHAKRA_WIRE_H
