// Trains PPO on RLtools' Pendulum with the settings of its own example; prints steps and the CPU seconds that they took.
#define RL_TOOLS_BACKEND_ENABLE_MKL
#include <rl_tools/operations/cpu_mux.h>
#include <rl_tools/nn/optimizers/adam/instance/operations_generic.h>
// After the optimiser's instances: without this header every product silently goes through plain loops.
#include <rl_tools/nn/operations_cpu_mux.h>
#include <rl_tools/rl/environments/pendulum/operations_cpu.h>
#include <rl_tools/nn/layers/standardize/operations_generic.h>
#include <rl_tools/nn_models/mlp_unconditional_stddev/operations_generic.h>
#include <rl_tools/nn_models/sequential/operations_generic.h>
#include <rl_tools/nn/optimizers/adam/operations_generic.h>
#include <rl_tools/rl/algorithms/ppo/loop/core/config.h>
#include <rl_tools/rl/algorithms/ppo/loop/core/operations_generic.h>

#include <cstdlib>
#include <ctime>
#include <iostream>

namespace rlt = rl_tools;
using Device = rlt::devices::DEVICE_FACTORY<>;
using Random = Device::SPEC::RANDOM::ENGINE<>;
using Index = Device::index_t;
using Types = rlt::numeric_types::Policy<float>;
using Pendulum = rlt::rl::environments::Pendulum<
    rlt::rl::environments::pendulum::Specification<float, Index, rlt::rl::environments::pendulum::DefaultParameters<float>>>;

struct Settings : rlt::rl::algorithms::ppo::loop::core::DefaultParameters<Types, Index, Pendulum> {
    static constexpr Index N_ENVIRONMENTS = 4;
    static constexpr Index ON_POLICY_RUNNER_STEPS_PER_ENV = 1024;
    static constexpr Index DATASET_SIZE = N_ENVIRONMENTS * ON_POLICY_RUNNER_STEPS_PER_ENV;
    static constexpr Index BATCH_SIZE = 256;
    static constexpr Index STEP_LIMIT = 75;
    static constexpr Index EPISODE_STEP_LIMIT = 200;
    static constexpr bool NORMALIZE_OBSERVATIONS = true;
    struct PPO_PARAMETERS : rlt::rl::algorithms::ppo::DefaultParameters<Types, Index, BATCH_SIZE> {
        static constexpr float GAMMA = 0.9;
        static constexpr float LAMBDA = 0.95;
        static constexpr float ACTION_ENTROPY_COEFFICIENT = 0.0;
        static constexpr Index N_EPOCHS = 2;
        static constexpr bool NORMALIZE_OBSERVATIONS = true;
        static constexpr bool IGNORE_TERMINATION = true;
    };
};
using Config = rlt::rl::algorithms::ppo::loop::core::Config<Types, Index, Random, Pendulum, Settings>;

int main(int count, char **words) {
    Device device;
    Config::State<Config> state;
    rlt::malloc(device);
    rlt::init(device);
    rlt::malloc(device, state);
    rlt::init(device, state, count > 1 ? std::atoi(words[1]) : 0);
    const std::clock_t begin = std::clock();
    while (!rlt::step(device, state)) {
    }
    const double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
    std::cout << Settings::STEP_LIMIT * Settings::DATASET_SIZE << " " << seconds << std::endl;
}
