/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Members of a config.json of Hugging Face (hugging-face.cc), and the readers that several families
 * share. Bounds keep products of two members below 2^64.
 */
#ifndef SCENARIOS_MODELS_CONFIG_READER_H
#define SCENARIOS_MODELS_CONFIG_READER_H

#include "scenarios/models/transformer-shape.h"
#include "topologies/json-reader.h"

#include <string>
#include <vector>

namespace training
{

constexpr uint64_t kMostLayers = 10000;
constexpr uint64_t kMostHidden = 1 << 20;
constexpr uint64_t kMostHeads = 1 << 16;
constexpr uint64_t kMostFfn = 1 << 24;
constexpr uint64_t kMostWords = 1 << 26;
constexpr uint64_t kMostSequence = 1 << 24;

/// A config's members: null is as good as missing.
class Config
{
  public:
    explicit Config(topo::JsonObject& in)
        : m_in(in)
    {
    }

    bool Given(const char* key);

    /// A count that has to be there.
    uint32_t Count(const char* key, uint64_t most);
    /// One that may be missing, and is at least `least` otherwise.
    uint32_t Count(const char* key, uint64_t most, uint32_t missing, uint64_t least = 1);
    bool Flag(const char* key, bool missing);
    /// Whether a share is above 0: dropout.
    bool Positive(const char* key, double missing);
    std::string Text(const char* key, const std::string& missing);
    /// A list of texts, each one of those allowed; empty if it is missing.
    std::vector<std::string> Texts(const char* key, const std::vector<std::string>& allowed);
    /// A list of whole numbers; empty if it is missing.
    std::vector<uint32_t> Counts(const char* key, uint64_t most);

    /// The first of two spellings that is there.
    const char* Either(const char* one, const char* other);
    /// Whether the class that the file is for ends so ("ForMaskedLM").
    bool IsFor(const std::string& ending);
    /// An error of a member, which may be missing.
    void Refuse(const char* key, const std::string& message);
    /// Refuses a flag that is on.
    void MustBeOff(const char* key);
    /// An error unless a list has as many entries as there are layers.
    bool HasOneEach(const char* key, std::size_t entries, uint32_t layers);

    topo::JsonObject& In()
    {
        return m_in;
    }

  private:
    topo::JsonObject& m_in;
};

/// Width, layers and heads, in the words of most configs.
void ReadUsual(Config& c, Transformer& t);

/// The longest sequence that positions were trained for.
uint32_t TrainedSequence(Config& c, uint32_t missing);

/// The common keys of Llama and later models.
void ReadLlama(Config& c, Transformer& t, ModelSpec& model);

/// "layer_types" as blocks. \param other what stands beside "full_attention":
/// "sliding_attention", "chunked_attention" or "linear_attention" \param window of the first two
/// \return whether it was there
bool ReadLayerTypes(Config& c, Transformer& t, const std::string& other, uint32_t window);

/// "decoder_sparse_step" and "mlp_only_layers" of Qwen: the blocks that have experts.
void ReadSparseBlocks(Config& c, Transformer& t);

/// Members of DeepSeek's mixtures ("n_routed_experts", ...), which others have as well. Gives
/// nothing where there are none.
void ReadRoutedExperts(Config& c, Transformer& t, uint32_t denseFirst);

/// DeepSeek to V3, and those that are built so; V3.2, with an indexer (family-deepseek.cc).
void ReadDeepSeek(Config& c, Transformer& t, ModelSpec& model);
void ReadSparseDeepSeek(Config& c, Transformer& t, ModelSpec& model);

/// "num_nextn_predict_layers", where the family knows the module.
void ReadPredictor(Config& c, Transformer& t);

/// One block a layer, all alike, to be changed; keeps those that there are.
std::vector<BlockShape>& EachBlock(Transformer& t);

} // namespace training

#endif // SCENARIOS_MODELS_CONFIG_READER_H
