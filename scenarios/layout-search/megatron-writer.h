/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Writes Megatron-LM's flags of one plan: who shares what out in megatron-parallel.cc, state and
 * kernels in megatron-flags.cc.
 *
 * Names and rules: NVIDIA/Megatron-LM, megatron/training/arguments.py@000c4ac (the arguments, and
 * validate_args) and megatron/core/transformer/transformer_config.py@002526d (__post_init__), where
 * no other file is named.
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_MEGATRON_WRITER_H
#define SCENARIOS_LAYOUT_SEARCH_MEGATRON_WRITER_H

#include "scenarios/layout-search/launch-flags.h"

#include <cstdint>
#include <string>

namespace planner
{

class MegatronWriter
{
  public:
    MegatronWriter(const training::TrainingOptions& options, const scenario::Values* given)
        : m_options(options),
          m_given(given)
    {
    }

    MegatronLaunch Write();

  private:
    void AddParallel();
    void AddPipeline();
    void AddExperts();
    void AddDispatcher();
    void AddExpertOverlap();
    void AddBatch();
    void AddTensor();

    void AddDataParallel();
    void AddBuckets(bool isOverlapped);
    void AddReduction();
    void AddOptimizer();
    void AddRecomputation();
    void AddModules();
    void AddAttention();
    std::string AttentionBackend() const;
    void AddType();
    void AddEnvironment();

    bool IsGiven(scenario::Member option) const
    {
        return m_given && m_given->Given(option);
    }

    void Add(const char* name)
    {
        m_launch.flags.push_back(std::string("--") + name);
    }

    void Add(const char* name, const std::string& value)
    {
        m_launch.flags.push_back(std::string("--") + name + " " + value);
    }

    void Add(const char* name, uint64_t value)
    {
        Add(name, std::to_string(value));
    }

    /// \param typed without "--" \param why may be empty
    void HasNone(const std::string& typed, const std::string& why = "")
    {
        m_launch.notes.push_back("Megatron-LM has no flag for --" + typed +
                                 (why.empty() ? "" : ": " + why));
    }

    void Refuses(const std::string& typed, const std::string& why)
    {
        m_launch.notes.push_back("Megatron-LM refuses --" + typed + ": " + why);
    }

    /// As one types it, without "--": "zero-impl=deepspeed".
    static std::string Typed(const char* option, const std::string& value)
    {
        return std::string(option) + "=" + value;
    }

    static std::string Typed(const char* option, uint64_t value)
    {
        return Typed(option, std::to_string(value));
    }

    /// ZeRO 2 and 3.
    bool IsFsdp() const
    {
        return m_options.sharding.gradients;
    }

    /// Whether ranks exchange tokens for experts.
    bool SharesExperts() const
    {
        return m_options.expert > 1 || m_options.Folded();
    }

    uint32_t Stage() const
    {
        return m_options.sharding.Stage();
    }

    const training::TrainingOptions& m_options;
    const scenario::Values* const m_given;
    MegatronLaunch m_launch;
};

} // namespace planner

#endif // SCENARIOS_LAYOUT_SEARCH_MEGATRON_WRITER_H
