/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Nodes of a Chakra execution trace, whatever form they stand in: protobuf (chakra-wire.h) or one
 * of two kinds of JSON (chakra-json.h). What they mean: chakra.h.
 *
 * Numbers and names are those of mlcommons/chakra, schema/protobuf/et_def.proto (6dc63e14).
 */
#ifndef SCENARIOS_FORMATS_CHAKRA_CHAKRA_NODE_H
#define SCENARIOS_FORMATS_CHAKRA_CHAKRA_NODE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace formats
{

enum class ChakraType : uint8_t
{
    kInvalid,
    kMetadata,
    kMemoryLoad,
    kMemoryStore,
    kCompute,
    kSend,
    kReceive,
    kCollective,
    kStorage,
    kBatch,
    kCheckpoint,
};

constexpr uint64_t kMostChakraType = static_cast<uint64_t>(ChakraType::kCheckpoint);
constexpr uint64_t kMostChakraCollective = 9; ///< CollectiveCommType: barrier

/// The value of an attribute, whichever member of its oneof it was in.
struct ChakraValue
{
    enum class Kind : uint8_t
    {
        kWhole,
        kReal,
        kText,
        kList, ///< list of whole numbers and booleans; others are skipped
    };

    Kind kind = Kind::kWhole;
    int64_t whole = 0; ///< for a uint64 above 2^63 - 1: -1, and `huge`
    bool huge = false;
    double real = 0;
    std::string text;
    std::vector<int64_t> list;
};

struct ChakraNode
{
    uint64_t id = 0;
    std::string name;
    ChakraType type = ChakraType::kInvalid;
    std::vector<uint64_t> after; ///< control and data dependencies
    uint64_t durationMicros = 0;
    std::string inputs; ///< IOInfo::values of the inputs
    std::map<std::string, ChakraValue> attributes;
    std::string place; ///< for errors: "byte 120", "/workload_graph/3"

    /// \return null if there is no such attribute
    const ChakraValue* Find(const std::string& attribute) const
    {
        const auto found = attributes.find(attribute);
        return found == attributes.end() ? nullptr : &found->second;
    }
};

} // namespace formats

#endif // SCENARIOS_FORMATS_CHAKRA_CHAKRA_NODE_H
