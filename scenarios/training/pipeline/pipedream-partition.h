/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PipeDream's partitioner: from measured layers and the machines' links to stages and their
 * replicas, "2-1-1". The dynamic programme of Harlap et al. 2018 (arXiv 1806.03377, section 3.2)
 * and, for several levels of links, of SOSP'19. Read were a summary of the first (in
 * github.com/bzhng-development/summary-of-some-paper-in-cuda) and the released code
 * (optimizer/optimizer_graph_hierarchical.py of github.com/msr-fiddle/pipedream):
 *
 *     A(j, m)    = the slowest stage, at its fastest, of layers 0 ... j on m machines
 *                = min { T(0, j, m), min over i < j, 1 <= n < m of S }
 *     S          = max { A(i, m - n), 2 a_i / B, T(i + 1, j, n) }
 *
 * with a_i the activations after layer i: they go to the next stage, and as many gradients back.
 * A stage of layers i ... j on m machines takes for a micro-batch, as each machine has every m-th,
 *
 *     T(i, j, m) = 1/m max { sum t, W }    synchronization hidden behind computing: the paper
 *                  1/m (sum t + W)         not hidden: the released optimizer
 *     W          = 4 (m - 1)/m sum w / B   gradients to a parameter server's shards, weights back
 *
 * t, forward and backward; w, bytes of weights; B, bytes a second of a machine's link. Among
 * equally good partitions it takes the one with fewer stages, then the earlier cut, then fewer
 * machines after it.
 *
 * Levels: machines of a level, such as the GPUs of a server, are together one machine of the next
 * level, whose t of layers i ... j is the A(i ... j) of all of them. Layers are a chain: for models
 * with branches a cut through several of them costs more than a_i.
 */
#ifndef SCENARIOS_TRAINING_PIPELINE_PIPEDREAM_PARTITION_H
#define SCENARIOS_TRAINING_PIPELINE_PIPEDREAM_PARTITION_H

#include <cstdint>
#include <string>
#include <vector>

namespace training
{

struct PartitionLayer
{
    double seconds = 0;         ///< forward and backward pass of a micro-batch
    double activationBytes = 0; ///< activations of a micro-batch that the next layer takes
    double parameterBytes = 0;
};

/// Machines, or groups of machines, and the link of each. Innermost level first.
struct PartitionLevel
{
    uint32_t machines = 1;
    double bytesPerSecond = 0;
};

struct PipeDreamOptions
{
    std::vector<PartitionLevel> levels;
    bool hideSynchronization = true;
};

struct PipeDreamStage
{
    uint32_t first = 0; ///< layer
    uint32_t last = 0;
    uint32_t replicas = 1;

    bool operator==(const PipeDreamStage& other) const
    {
        return first == other.first && last == other.last && replicas == other.replicas;
    }
};

struct PipeDreamPartition
{
    std::vector<PipeDreamStage> stages;
    double seconds = 0; ///< time of the slowest stage or transfer per micro-batch

    std::string Text() const; ///< "2-1-1"
};

/// Partitions that are compared, about: layers^2 machines^2 / 4 of the outermost level, and
/// layers^3 machines^2 / 12 of each one inside, whose stages may begin anywhere.
double PipeDreamSteps(std::size_t layers, const std::vector<PartitionLevel>& levels);

/// The same of CutForReplicas: layers^2 stages / 2.
double CutSteps(std::size_t layers, std::size_t stages);

/// Larger problems are refused: this is about half a minute of a core, and at most 1 GB.
constexpr double kMostPartitionSteps = 1e10;

/// \pre at least one layer, one level, one machine in each, all rates above 0
PipeDreamPartition PartitionPipeDream(const std::vector<PartitionLayer>& layers,
                                      const PipeDreamOptions& options);

/// Cuts layers into stages with given numbers of replicas, so that the slowest stage or transfer on
/// one level of links is as fast as possible, by the same formulas. Among equally good results, the
/// one with the earliest last cut, then the earliest cut before it, and so on. With an infinite
/// rate only computing counts.
/// \pre 1 <= replicas.size() <= layers.size(), no 0 in it, rate above 0
std::vector<PipeDreamStage> CutForReplicas(const std::vector<PartitionLayer>& layers,
                                           const std::vector<uint32_t>& replicas,
                                           double bytesPerSecond,
                                           bool hideSynchronization);

/// Layers joined so that a model is only cut at narrow places: behind a layer whose activations are
/// fewer than those of all groups before it (in VGG those of pooling). Layers that compute nothing
/// (views, dropout) go with the next one. Cut anywhere, a partitioner pays any bytes for a slightly
/// better balance, as a transfer that fits under a stage costs it nothing.
/// \return how many layers each group has, in order
std::vector<uint32_t> NarrowGroups(const std::vector<PartitionLayer>& layers);

/// The time of these stages per micro-batch, by the same formulas, on one level of links.
/// \pre stages that cover the layers in order
double PipeDreamSeconds(const std::vector<PartitionLayer>& layers,
                        const std::vector<PipeDreamStage>& stages,
                        double bytesPerSecond,
                        bool hideSynchronization);

} // namespace training

#endif // SCENARIOS_TRAINING_PIPELINE_PIPEDREAM_PARTITION_H
